Bnorm.weightJ¢#O≠â`÷?l‘É
Dè«?